package kit

import "testing"

func TestIsLibraryFrame(t *testing.T) {
	const module = "github.com/foliot-go/foliot"
	for line, want := range map[string]bool{
		module + ".(*Runtime).Shutdown(0xc000, {0x1, 0x2})":           true,
		module + ".New.func1()":                                       true,
		module + "/time.Sleep(0x1)":                                   true,
		module + "/internal/alarm.(*Alarm).Wait(0xc000)":              true,
		module + "/time_test.TestX.func1()":                           false,
		module + "_test.TestX(0xc000)":                                false,
		module + "/test/contract_test.TestX(0xc000)":                  false,
		module + "/test/kit.NewRuntime({0x1, 0x2})":                   false,
		module + "/lab/check.TestX(0xc000)":                           false,
		module + "/lab/check/clocks.TestX(0xc000)":                    false,
		module + "/internal/testkit.Receive[...]({0x1, 0x2}, 0xc000)": false,
		"testing.tRunner(0xc000, 0x1)":                                false,
	} {
		if got := isLibraryFrame(line); got != want {
			t.Errorf("isLibraryFrame(%q) is %t, want %t", line, got, want)
		}
	}
}
