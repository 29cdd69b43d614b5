module github.com/foliot-go/foliot/examples

go 1.26.0

require github.com/foliot-go/foliot v0.0.0

replace github.com/foliot-go/foliot => ../
