package serve

import "github.com/getkin/kin-openapi/openapi3"

// docs has the descriptions of the routes, by method and path.
var docs = map[string]doc{
	"PUT /v1/timers/{id}": {
		id: "putTimer", summary: "Make or replace a timer", body: Spec{}, result: Timer{}, created: true, etag: true,
		params: []param{
			header("If-Match", `Replace only if the timer is armed and has this revision, such as "17".`),
			header("If-None-Match", "* makes the timer only if there is none with this ID."),
		},
		errors: map[int]string{
			400: "The request is not valid. Nothing was stored.",
			412: "A condition does not hold. Nothing was stored.",
			413: "The body or the payload is too large. Nothing was stored.",
		},
	},
	"GET /v1/timers/{id}": {
		id: "getTimer", summary: "Read a timer", result: Timer{}, etag: true, cached: true,
		params: []param{header("If-None-Match", "Status 304 without a body if the timer has this revision.")},
		errors: map[int]string{400: "The ID is not valid.", 404: "There is no timer with this ID."},
	},
	"DELETE /v1/timers/{id}": {
		id: "cancelTimer", summary: "Cancel a timer", result: Cancelled{},
		params: []param{header("If-Match", `Cancel only if the timer has this revision, such as "17".`)},
		errors: map[int]string{400: "The request is not valid.", 404: "Nothing is armed for this ID.", 412: "The timer has another revision."},
	},
	"POST /v1/timers": {
		id: "putTimers", summary: "Make or replace up to 1,000 timers, all or none", body: Batch{}, result: BatchResult{},
		text:   "If-Match and If-None-Match are not possible here: use PUT for each timer.",
		errors: map[int]string{400: "The request is not valid. Nothing was stored.", 413: "The body or a payload is too large. Nothing was stored."},
	},
	"GET /v1/timers": {
		id: "listTimers", summary: "List timers", result: List{},
		params: []param{
			query("prefix", "Of the ID.", openapi3.NewStringSchema()),
			query("kind", "Only timers of this kind.", openapi3.NewStringSchema()),
			query("from", "Only timers that are due then or later.", openapi3.NewDateTimeSchema()),
			query("to", "Only timers that are due before.", openapi3.NewDateTimeSchema()),
			query("order", "due: in the order of time; id: in the order of IDs.", openapi3.NewStringSchema().WithEnum("due", "id")),
			query("limit", "The size of the page.", limitSchema()),
			query("cursor", "next of the last page.", openapi3.NewStringSchema()),
		},
		errors: map[int]string{400: "The query is not valid."},
	},
	"GET /v1/fires": {
		id: "listenFires", summary: "Listen to attempts and their outcomes, as server-sent events", result: FireEvent{}, media: "text/event-stream",
		text: "The data of an event with the name fire has the schema. An event with the name missed says that events are not kept any more that this listener has not got: " +
			"its data is {\"from\",\"to\"}, the numbers of the first and the last of them, of all kinds. With \"restart\":true the server was started again in between, and the difference of the numbers does not count events. A block without data has the ID of the place where the stream is: " +
			"it is no event, but a client that sends it as Last-Event-ID gets what came after it. Comments show that the stream is alive.",
		params: []param{
			query("kind", "Only timers of this kind.", openapi3.NewStringSchema()),
			header("Last-Event-ID", "Begin after this event. The last 10,000 are kept; 0 means all of them."),
		},
		errors: map[int]string{400: "The request is not valid."},
	},
	"GET /v1/dead": {
		id: "listDead", summary: "List timers that gave up", result: DeadList{},
		params: []param{
			query("limit", "The size of the page.", limitSchema()),
			query("cursor", "next of the last page.", openapi3.NewStringSchema()),
		},
		errors: map[int]string{400: "The query is not valid."},
	},
	"POST /v1/dead/{id}/redrive": {
		id: "redriveDead", summary: "Arm a dead timer again, for now", result: Redriven{},
		errors: map[int]string{400: "The ID is not valid.", 404: "There is no dead timer with this ID.", 409: "There is a timer with this ID."},
	},
	"DELETE /v1/dead/{id}": {
		id: "discardDead", summary: "Remove a dead timer", result: Discarded{},
		errors: map[int]string{400: "The ID is not valid.", 404: "There is no dead timer with this ID."},
	},
	"GET /healthz": {id: "healthz", summary: "Whether the process is alive", result: Health{}},
	"GET /readyz": {
		id: "readyz", summary: "Whether the timers are loaded", result: Readiness{},
		errors: map[int]string{503: "The timers are being loaded; loaded and pending say how far that is."},
	},
	"GET /metrics":      {id: "metrics", summary: "Metrics for Prometheus", media: "text/plain"},
	"GET /openapi.json": {id: "openapi", summary: "This description", result: Description{}},
}

// A Description is the response to GET /openapi.json.
type Description map[string]any
