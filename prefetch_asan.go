//go:build asan

package foliot

// addressSanitizer reports whether the program is built with -asan, which checks every load.
const addressSanitizer = true
