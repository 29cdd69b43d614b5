package serve

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
	"github.com/go-json-experiment/json/jsontext"
)

// A doc describes a route for openapi.json. The types are those that are decoded and encoded.
type doc struct {
	id      string
	summary string
	text    string // what else there is to say; may be empty
	body    any    // of the request; nil: none
	params  []param
	result  any            // of the response with status 200; nil: text of the type media
	media   string         // of the response; empty: JSON
	created bool           // the response may also have status 201
	etag    bool           // the response has an ETag
	cached  bool           // the response may also have status 304, without a body
	errors  map[int]string // by status
}

// A param is a parameter of a request besides the ID.
type param struct {
	in, name, text string
	schema         *openapi3.Schema
}

// describeAPI returns the description of routes.
func describeAPI(routes []route) (*openapi3.T, error) {
	t := &openapi3.T{
		OpenAPI: "3.0.3",
		Info: &openapi3.Info{
			Title: "Foliot", Version: "the version of the server",
			Description: "Timers that outlive the process: schedule by HTTP, be called back by a signed webhook or by server-sent events.",
			License:     &openapi3.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		Servers: openapi3.Servers{{URL: "/"}},
		Paths:   openapi3.NewPaths(),
		Components: &openapi3.Components{
			Schemas: openapi3.Schemas{},
			SecuritySchemes: openapi3.SecuritySchemes{"token": &openapi3.SecuritySchemeRef{
				Value: openapi3.NewSecurityScheme().WithType("http").WithScheme("bearer").WithDescription("The token of --token-file. A server without one needs none."),
			}},
		},
	}
	g := &describer{schemas: t.Components.Schemas}
	for _, rt := range routes {
		op, err := g.operation(rt)
		if err != nil {
			return nil, err
		}
		item := t.Paths.Value(rt.path)
		if item == nil {
			item = &openapi3.PathItem{}
			t.Paths.Set(rt.path, item)
		}
		item.SetOperation(rt.method, op)
	}
	return t, nil
}

// A describer collects the schemas of types.
type describer struct{ schemas openapi3.Schemas }

func (g *describer) operation(rt route) (*openapi3.Operation, error) {
	d, ok := docs[rt.method+" "+rt.path]
	if !ok {
		return nil, fmt.Errorf("%s %s has no description", rt.method, rt.path)
	}
	op := openapi3.NewOperation()
	op.OperationID, op.Summary, op.Description = d.id, d.summary, d.text
	op.Security = openapi3.NewSecurityRequirements()
	if !rt.open {
		op.Security.With(openapi3.NewSecurityRequirement().Authenticate("token")).With(openapi3.NewSecurityRequirement())
	}
	if strings.Contains(rt.path, "{id}") {
		id := openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(255)
		op.AddParameter(openapi3.NewPathParameter("id").WithDescription("The name of the timer. A slash is written as %2F.").WithSchema(id))
	}
	for _, p := range d.params {
		op.AddParameter((&openapi3.Parameter{In: p.in, Name: p.name}).WithDescription(p.text).WithSchema(p.schema))
	}
	if d.body != nil {
		schema, err := g.schema(d.body)
		if err != nil {
			return nil, err
		}
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).WithJSONSchemaRef(schema)}
	}
	op.Responses = openapi3.NewResponsesWithCapacity(8)
	done, err := g.result(d)
	if err != nil {
		return nil, err
	}
	op.AddResponse(http.StatusOK, done)
	if d.created {
		created := *done
		op.AddResponse(http.StatusCreated, created.WithDescription("Made; there was no timer with this ID."))
	}
	if d.cached {
		op.AddResponse(http.StatusNotModified, openapi3.NewResponse().WithDescription("The timer has the revision that If-None-Match names."))
	}
	problems := map[int]string{}
	for status, text := range d.errors {
		problems[status] = text
	}
	if !rt.open {
		problems[http.StatusUnauthorized] = "The token is missing or wrong."
	}
	problems[http.StatusForbidden] = "The request comes from the page of another site."
	if !rt.early {
		problems[http.StatusServiceUnavailable] = "The timers are being loaded, or the server is ending."
		problems[http.StatusInternalServerError] = "The store has failed."
	}
	schema, err := g.schema(Problem{})
	if err != nil {
		return nil, err
	}
	for status, text := range problems {
		content := openapi3.NewContentWithSchemaRef(schema, []string{"application/problem+json"})
		op.AddResponse(status, openapi3.NewResponse().WithDescription(text).WithContent(content))
	}
	return op, nil
}

// result returns the response with status 200.
func (g *describer) result(d doc) (*openapi3.Response, error) {
	r := openapi3.NewResponse().WithDescription("Done.")
	media, schema := "application/json", openapi3.NewSchemaRef("", openapi3.NewStringSchema())
	if d.media != "" {
		media = d.media
	}
	if d.result != nil {
		var err error
		if schema, err = g.schema(d.result); err != nil {
			return nil, err
		}
	}
	if d.etag {
		header := &openapi3.Header{Parameter: openapi3.Parameter{Description: "The revision, in quotes.", Schema: openapi3.NewSchemaRef("", openapi3.NewStringSchema())}}
		r.Headers = openapi3.Headers{"ETag": &openapi3.HeaderRef{Value: header}}
	}
	return r.WithContent(openapi3.NewContentWithSchemaRef(schema, []string{media})), nil
}

// schema returns a reference to the schema of a type.
func (g *describer) schema(v any) (*openapi3.SchemaRef, error) {
	name := reflect.TypeOf(v).Name()
	if g.schemas[name] == nil {
		ref, err := openapi3gen.NewSchemaRefForValue(v, nil, openapi3gen.SchemaCustomizer(customize))
		if err != nil {
			return nil, err
		}
		g.schemas[name] = ref
	}
	return openapi3.NewSchemaRef("#/components/schemas/"+name, g.schemas[name].Value), nil
}

// customize adds to a schema what Go types do not say. A field is required unless it is left out when it is
// zero.
func customize(_ string, t reflect.Type, tag reflect.StructTag, schema *openapi3.Schema) error {
	schema.Nullable = false
	if t == reflect.TypeFor[jsontext.Value]() {
		*schema = openapi3.Schema{} // any JSON
	}
	schema.Description = tag.Get("doc")
	if format := tag.Get("format"); format != "" {
		schema.Format = format
	}
	if example := tag.Get("example"); example != "" {
		schema.Example = example
	}
	for value := range strings.SplitSeq(tag.Get("enum"), ",") {
		if value != "" {
			schema.Enum = append(schema.Enum, value)
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && schema.Properties != nil {
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(options, "omitzero") {
				schema.Required = append(schema.Required, name)
			}
		}
		strict := false
		schema.AdditionalProperties = openapi3.AdditionalProperties{Has: &strict}
	}
	return nil
}

// query returns a parameter of the query.
func query(name, text string, schema *openapi3.Schema) param {
	return param{openapi3.ParameterInQuery, name, text, schema}
}

// header returns a parameter that is a header.
func header(name, text string) param {
	return param{openapi3.ParameterInHeader, name, text, openapi3.NewStringSchema()}
}

func limitSchema() *openapi3.Schema {
	s := openapi3.NewIntegerSchema().WithMin(1).WithMax(maxLimit)
	s.Default = defaultLimit
	s.Description = "At most this many; " + strconv.Itoa(defaultLimit) + " if it is left out."
	return s
}
