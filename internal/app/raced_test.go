//go:build race

package app_test

func init() { raced = true }
