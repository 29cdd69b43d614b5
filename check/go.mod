module github.com/foliot-go/foliot/check

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/foliot-go/foliot v0.0.0
	github.com/jonboulle/clockwork v0.5.0
	go.uber.org/goleak v1.3.0
)

replace github.com/foliot-go/foliot => ../
