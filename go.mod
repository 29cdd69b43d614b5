module github.com/foliot-go/foliot

go 1.26
