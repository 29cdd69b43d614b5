module github.com/foliot-go/foliot/bench

go 1.26.0

require github.com/foliot-go/foliot v0.0.0

require golang.org/x/sys v0.49.0

replace github.com/foliot-go/foliot => ../
