module github.com/foliot-go/foliot/client

go 1.26.0
