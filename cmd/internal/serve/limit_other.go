//go:build !unix

package serve

// maxConnections returns how many connections may be open at a time.
func maxConnections() int { return 16_384 }
