module github.com/foliot-go/foliot/bench

go 1.26

require github.com/foliot-go/foliot v0.0.0

replace github.com/foliot-go/foliot => ../
