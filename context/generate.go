package context

//go:generate go run ../internal/aliasgen
