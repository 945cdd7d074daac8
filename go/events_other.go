// SPDX-License-Identifier: MIT

//go:build !linux

package credfresh

// events reports nothing: the directory is polled.
type events struct{ happened chan struct{} }

func newEvents() *events                { return &events{} }
func (e *events) watch(dir string) bool { return false }
func (e *events) close()                {}
