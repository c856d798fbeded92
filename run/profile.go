package run

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/run/profile"
	"github.com/mlperf-go/mlperf-go/run/servermetrics"
)

// newProfile returns the control of --profile-window; nil without it.
func (t *test) newProfile() (*profile.Control, error) {
	c := t.plan.Config
	if c.String("profile-window") == "" {
		return nil, nil
	}
	window, err := profile.Parse(c.String("profile-window"))
	if err != nil {
		return nil, err
	}
	if c.IsSet("profile-start") {
		return profile.New(window, profile.Commands{Starts: c.String("profile-start"), Stops: c.String("profile-stop")}), nil
	}
	pages, err := servermetrics.Pages(t.config, nil) // the profilers are reached in the same way
	if err != nil {
		return nil, err
	}
	var routes profile.Routes
	for _, p := range pages {
		routes.Servers = append(routes.Servers, profile.Server{URL: strings.TrimSuffix(p.URL, servermetrics.PagePath),
			APIKey: p.APIKey, Client: p.Client})
	}
	if c.String("backend") == "sglang" {
		routes.Body = profile.SGLangBody(c.String("profile-dir"))
	}
	return profile.New(window, routes), nil
}

// endProfile returns the report of --profile-window, and a note if the window was not profiled.
func (t *test) endProfile() (*profile.Report, []string) {
	if t.profile == nil {
		return nil, nil
	}
	report := t.profile.End()
	if report.Error == "" {
		return report, nil
	}
	return report, []string{"--profile-window: " + report.Error}
}
