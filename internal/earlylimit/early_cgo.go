//go:build cgo && linux

package earlylimit

import "C"
