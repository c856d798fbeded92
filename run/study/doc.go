// Package study prepares measurements of a server that are repeated many times in one process: a sweep or an
// experiment.
//
//	s := &study.Study{Owner: owner, Folder: folder, Plan: p, Suggest: [][2]string{{"target-qps", "1"}}}
//	err := s.Run(ctx, readState, func(c *run.ProbeClient) error { ... })
//
// One process at a time owns the folder. A study that was ended continues from the state file of that folder.
package study
