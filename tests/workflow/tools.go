// SPDX-License-Identifier: Apache-2.0
//go:build tools

// Package workflow is not built: this file names the command that go.mod pins.
package workflow

import _ "github.com/rhysd/actionlint/cmd/actionlint"
