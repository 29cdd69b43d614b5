package inspect_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
)

// The handler is mounted below a prefix. A handler around it checks a token, which only operators have.
func ExampleHandler() {
	sessions, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	page := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{"sessions": sessions}})

	mux := http.NewServeMux()
	mux.Handle("/debug/foliot/", onlyOperators("secret", http.StripPrefix("/debug/foliot", page)))

	ask := func(token string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/debug/foliot/snapshot.json", nil)
		r.SetBasicAuth("operator", token)
		mux.ServeHTTP(w, r)
		return w.Code
	}
	fmt.Println(ask("guess"))
	fmt.Println(ask("secret"))
	// Output:
	// 401
	// 200
}

// onlyOperators passes requests on that have a password. A browser asks for it. Use it with TLS.
func onlyOperators(password string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, got, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(got), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="timers"`)
			http.Error(w, "operators only", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Shutdown of a server waits for requests, and a request for events does not end by itself. With a
// context that ends at Shutdown, it does.
func ExampleHandler_shutdown() {
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(inspect.Handler(inspect.Options{}))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Config.RegisterOnShutdown(cancel)
	server.Start()
	defer server.Close()

	resp, err := http.Get(server.URL + "/events")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(server.Config.Shutdown(context.Background()))
	// Output: <nil>
}
