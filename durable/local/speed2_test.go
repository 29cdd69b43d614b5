package local

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

func BenchmarkNoRun(b *testing.B) {
	for _, ns := range []bool{false, true} {
		b.Run(fmt.Sprint(ns), func(b *testing.B) {
			st, _ := Open(b.TempDir(), Options{NoSync: ns})
			defer st.Close()
			s, _ := durable.New(st, durable.Options{})
			at := time.Now().Add(time.Hour)
			parallel64(b, func(i int) {
				if _, err := s.Schedule(b.Context(), durable.Timer{ID: fmt.Sprintf("order-%08d", i), At: at, Kind: "a"}); err != nil {
					b.Error(err)
				}
			})
			b.StopTimer()
		})
	}
}
