package serve

import (
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody is the largest size of the body of a request: 1 MiB.
const maxBody = 1 << 20

// decodeBody reads the body of a request into v. Unknown fields, duplicate ones, wrong types and anything
// after the value are errors. An error is a Problem or an http.MaxBytesError.
func decodeBody(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return badRequest("The body cannot be read to its end. Send it within a minute.")
	}
	return decode(body, v)
}

// errNull says that there is a null where a value of another type belongs. Only a payload may be null.
var errNull = errors.New("null")

// noNulls refuses nulls, which would otherwise be taken for fields that are left out.
var noNulls = json.WithUnmarshalers(json.JoinUnmarshalers(
	notNull[string](), notNull[*Webhook](), notNull[map[string]string](), notNull[[]NamedSpec](), notNull[Spec](), notNull[NamedSpec](),
))

func notNull[T any]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(in *jsontext.Decoder, _ *T) error {
		if in.PeekKind() == 'n' {
			return errNull
		}
		return errors.ErrUnsupported // the default decodes it
	})
}

// decode decodes JSON strictly.
func decode(body []byte, v any) error {
	if len(body) == 0 {
		return badRequest("There is no body; send a JSON object.")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true), noNulls)
	if err == nil {
		return nil
	}
	where := "the body"
	if s, ok := errors.AsType[*json.SemanticError](err); ok && s.JSONPointer != "" {
		where = string(s.JSONPointer)
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok && s.JSONPointer != "" {
		where = string(s.JSONPointer)
	}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return badRequest("There is no field %s; correct its name or leave it out.", where)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return badRequest("The field %s occurs twice; send it once.", where)
	case errors.Is(err, errNull):
		return badRequest("%s is null; send a value or leave it out.", where)
	}
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		return badRequest("%s has the wrong type: a JSON %s cannot be used there.", where, s.JSONKind)
	}
	return badRequest("The body is not JSON in UTF-8: there is a fault at %s.", where)
}
