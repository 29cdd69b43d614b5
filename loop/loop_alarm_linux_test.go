package loop

import "github.com/foliot-go/foliot/internal/alarm"

func breakAlarm(a *alarm.Alarm, fault string) {
	switch fault {
	case "closed under the sleeper":
		a.File.Close()
	case "cannot be set by the waker":
		a.FD = 1<<31 - 1
	}
}
