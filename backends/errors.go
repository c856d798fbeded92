package backends

// Fault says in one word what is wrong with an endpoint.
type Fault string

// The faults that a probe finds.
const (
	FaultUnreachable  Fault = "unreachable"    // no connection, or no answer in time
	FaultTLS          Fault = "tls"            // certificate or handshake
	FaultUnauthorized Fault = "unauthorized"   // 401 or 403
	FaultRedirect     Fault = "redirect"       // 3xx
	FaultNotReady     Fault = "not_ready"      // health says 5xx
	FaultStatus       Fault = "status"         // any other status than 200
	FaultNotJSON      Fault = "not_json"       // HTML or something else where JSON was expected
	FaultWrongModel   Fault = "wrong_model"    // the served names lack the wanted one
	FaultGenerate     Fault = "generate"       // the short generation failed
	FaultNoTokenIDs   Fault = "no_token_ids"   // ids are needed and were not sent
	FaultNoStream     Fault = "no_stream"      // a stream is needed and one body came
	FaultNoTokenCount Fault = "no_token_count" // neither ids nor usage
)

// EndpointError says that an endpoint can not be used as it is. It is a fault of the environment (exit code 3).
type EndpointError struct {
	URL    string
	Fault  Fault
	Text   string   // one paragraph: what was attempted, what came instead, what to try
	Models []string // served names, where they are known
	Err    error    // what the system said; may be nil
}

// Error is the paragraph.
func (e *EndpointError) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *EndpointError) Unwrap() error { return e.Err }
