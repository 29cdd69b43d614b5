//go:build !asan

package foliot

// addressSanitizer tells whether every load is checked against what was allocated.
const addressSanitizer = false
