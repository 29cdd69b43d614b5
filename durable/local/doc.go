// Package local keeps durable timers in a folder of one machine, for one process. It is the store to
// begin with: it needs no server.
//
//	store, err := local.Open("/var/lib/shop/timers", local.Options{})
//	…
//	defer store.Close() // after Run has returned
//	s, err := durable.New(store, durable.Options{})
//
// Package durable has the rest of the API.
//
// # The folder
//
// [Open] makes the folder if there is none. One process can have it open at a time. A second one gets
// an error that names the folder. The lock goes away with the process, however it ends. The folder must
// be on a local disk: locks and syncs of network file systems often do less than they say.
//
// In the folder is a database of Pebble, the storage engine of CockroachDB. Its files belong together:
// copy the folder as a whole, while no process has it open. [OpenReadOnly] opens a folder and changes
// nothing in it, and [Verify] reads all of it and says what is damaged. The commands foliot ls
// --data DIR and foliot verify --data DIR do so.
//
// # What is kept
//
// Each change is written to a log and synced to the disk before its call returns. Calls of many
// goroutines share a sync; a call that is alone does not wait for others. So a change survives kill -9
// and a power cut, if the disk keeps what it has synced.
//
// With [Options].NoSync files are handed to the operating system only, and calls do not wait for the
// disk. Changes survive kill -9. A power cut or a crash of the kernel may lose changes of the last
// seconds, and may damage the folder so that it cannot be opened. So NoSync is for tests, and for timers
// that can be computed again from other data.
//
// # Failures
//
// After an error of a write or a sync it is unknown what is on the disk, and a second sync may succeed
// without having written anything. So the store stops: all calls and Run return that error, until it is
// closed and opened again. Timers that were acknowledged are there then. A full disk is such an error,
// and Open may return it as well: make room first. A file that is damaged is refused with its name, and
// never read in part.
package local
