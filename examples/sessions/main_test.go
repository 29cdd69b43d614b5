package main

func Example() {
	main()
	// Output:
	// time     open  heartbeats  messages
	// 12:00   10000           0         0
	// 12:01    1000       60000      1000
	// 12:02    1000       66000      2000
	// 12:03    1000       72000      4000
	// 12:04       0       78000      4000
	// 1000 messages came too late: all sessions have closed
}
