package storetest

var linearTests []test
