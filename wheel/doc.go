// Package wheel is a hierarchical timing wheel: a data structure that holds any
// number of deadlines and yields those that have come due, in order.
package wheel
