package main

func Example() {
	main()
	// Output:
	// backup: started
	// shutting down
	// after 20ms: jobs are still running: context deadline exceeded
	// cleanup: foliot: the runtime is shut down
	// backup: finished
	// invoices: saved for the next start, due in 1h0m0s
	// reminders: saved for the next start, due in 2h0m0s
}
