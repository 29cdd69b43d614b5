//go:build asan

package engine

// addressSanitizer reports whether the program is built with -asan, which checks every load.
const addressSanitizer = true
