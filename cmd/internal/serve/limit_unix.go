//go:build unix

package serve

import "syscall"

// maxConnections returns how many connections may be open at a time. Some files must be left for the store
// and for webhooks: a store that cannot open a file stops.
func maxConnections() int {
	const reserve, most = 2048, 32_768
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return most
	}
	limit := int(min(uint64(l.Cur), most+reserve))
	return max(limit-reserve, limit/2, 1)
}
