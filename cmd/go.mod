module github.com/foliot-go/foliot/cmd

go 1.26.0

require (
	github.com/foliot-go/foliot/bench v0.0.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/foliot-go/foliot v0.0.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/foliot-go/foliot => ../
	github.com/foliot-go/foliot/bench => ../bench
)
