// Package browser tests the pages of this program in a real browser: the report of real rehearsal runs, the live page
// of a running one, and the page of compare. It also compiles the scripts of the project there, and reads the file of
// --trace-spans. `make test-browser` builds the program and runs the tests with headless Chromium.
//
// The tests have the build tag browser, because the browser's protocol takes long to compile. checks.js looks at a page
// from within, as a reader would: nothing is cut or overlaps, every colour can be read, every control can be reached.
//
// It uses the program as a user does, and imports only helpers of tests.
package browser
