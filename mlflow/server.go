package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

// Bounds of an answer.
const (
	maxAnswer  = 16 << 20 // bytes
	quoteBytes = 300      // of a foreign text in an error
)

// api is the path of the REST interface below the server's URL.
const api = "/api/2.0/mlflow/"

// artifactsAPI is the path of the files that the server keeps for its clients.
const artifactsAPI = "/api/2.0/mlflow-artifacts/artifacts/"

// Credentials identify the user. The token counts where both are given, as in MLflow's own client.
type Credentials struct{ User, Password, Token string }

// Server is a tracking server.
type Server struct {
	url    string // without a slash at the end
	login  Credentials
	client *http.Client
}

// NewServer returns the server at a URL such as http://host:5000, without contacting it. The client must not follow
// redirects.
func NewServer(address string, login Credentials, client *http.Client) (*Server, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a URL", foreign.Line(address, quoteBytes))
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%q is not the URL of a tracking server: write "+
			"http://host:port", foreign.Line(address, quoteBytes))
	case u.User != nil && login == (Credentials{}):
		login.User = u.User.Username()
		login.Password, _ = u.User.Password()
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return &Server{url: strings.TrimRight(u.String(), "/"), login: login, client: client}, nil
}

// URL is the server's, without a password.
func (s *Server) URL() string { return s.url }

// RunURL is the page of a run.
func (s *Server) RunURL(experiment, run string) string {
	return s.url + "/#/experiments/" + url.PathEscape(experiment) + "/runs/" + url.PathEscape(run)
}

// refusal is an error that the server returned.
type refusal struct {
	Status  int    `json:"-"`
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("the tracking server answered %d %s", r.Status, http.StatusText(r.Status))
	if r.Message != "" {
		text += ": " + foreign.Line(r.Message, quoteBytes)
	}
	return text
}

// is reports whether err is the server's error with the code.
func is(err error, code string) bool {
	var r *refusal
	return errors.As(err, &r) && r.Code == code
}

// get asks a route, and decodes the answer into out.
func (s *Server) get(ctx context.Context, route string, query url.Values, out any) error {
	return s.send(ctx, http.MethodGet, api+route+"?"+query.Encode(), nil, 0, out)
}

// post sends in to a route as JSON, and decodes the answer into out; nil: it does not matter.
func (s *Server) post(ctx context.Context, route string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return s.send(ctx, http.MethodPost, api+route, bytes.NewReader(text), int64(len(text)), out)
}

// send makes one request; path begins with a slash.
func (s *Server) send(ctx context.Context, method, path string, body io.Reader, size int64, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return err
	}
	if request.ContentLength = size; size == 0 {
		request.Body = http.NoBody
	}
	request.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, artifactsAPI) {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	switch {
	case s.login.Token != "":
		request.Header.Set("Authorization", "Bearer "+s.login.Token)
	case s.login.User != "":
		request.SetBasicAuth(s.login.User, s.login.Password)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := httpclient.ReadBody(response, maxAnswer)
	if err != nil {
		return fmt.Errorf("the answer of the tracking server cannot be read: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		r := &refusal{Status: response.StatusCode}
		if json.Unmarshal(text, r) != nil { // perhaps an answer of a proxy
			r.Message = string(text)
		}
		return r
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s%s is not a tracking server of MLflow: it answered "+
			"%q", s.url, api, foreign.Line(string(text), 80))
	}
	return nil
}

// experiment returns the id of an experiment, which is made if it does not exist.
func (s *Server) experiment(ctx context.Context, name string) (string, error) {
	find := func() (string, error) {
		var found struct {
			Experiment struct {
				ID    string `json:"experiment_id"`
				Stage string `json:"lifecycle_stage"`
			} `json:"experiment"`
		}
		err := s.get(ctx, "experiments/get-by-name", url.Values{"experiment_name": {name}}, &found)
		switch {
		case err != nil:
			return "", err
		case found.Experiment.ID == "":
			return "", fmt.Errorf("%s is not a tracking server of MLflow: its experiment has no id", s.url)
		case found.Experiment.Stage == "deleted":
			return "", fmt.Errorf("the experiment %q was deleted on the server. Restore it there, or name another one", name)
		}
		return found.Experiment.ID, nil
	}
	id, err := find()
	if !is(err, "RESOURCE_DOES_NOT_EXIST") {
		return id, err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = s.post(ctx, "experiments/create", map[string]string{"name": name}, &made)
	if is(err, "RESOURCE_ALREADY_EXISTS") { // another client was faster
		return find()
	}
	if err == nil && made.ID == "" {
		err = fmt.Errorf("%s is not a tracking server of MLflow: it made an experiment without an id", s.url)
	}
	return made.ID, err
}
