// Package doccheck compares the pages of the repository with the code that they describe. It has tests only: those of
// repository_test.go look at the pages, those of faults_test.go see to it that the checks find faults.
package doccheck
