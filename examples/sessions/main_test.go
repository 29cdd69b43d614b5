package main

func Example() {
	main()
	// Output:
	// time     open  heartbeats  messages
	// 12:01    1000       60000      1000
	// 12:02    1000       66000      2000
	// 12:03    1000       72000      4000
	// 12:04       0       78000      4000
	// 1000 sessions have closed and take no more messages
}
