package serve

import (
	"bytes"
	_ "embed"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// description is the description of the API. TestOpenAPI makes it from the routes and the Go types; -update writes it.
//
//go:embed openapi.json
var description []byte

// versionMark is in the description in place of the version of the server.
const versionMark = `"version": "the version of the server"`

// openAPI serves the description of the API.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	version, err := jsontext.AppendQuote([]byte(`"version": `), s.cfg.Version)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.Replace(description, []byte(versionMark), version, 1))
	return nil
}
