package main

func Example() {
	main()
	// Output:
	// reply: Ada
	// error: no reply within the deadline
	// error: context canceled
	// requests with a result: 10000
	// every reply in time was used: true
	// every other request timed out: true
	// timers left: 0
}
