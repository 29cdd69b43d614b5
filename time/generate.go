package time

//go:generate go run ../internal/aliasgen
