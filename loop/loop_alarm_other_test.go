//go:build !linux

package loop

import "github.com/foliot-go/foliot/internal/alarm"

func breakAlarm(*alarm.Alarm, string) {}
