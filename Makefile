# `make help` says what there is. `make test` is what has to pass before a change is merged.

GO      ?= go
BIN     := bin/wardroom
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
# The same flags everywhere, so that one compile serves the binary and all tests.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# The race detector skips SQLite's own code and bcrypt, which run several times faster without it. It still finds
# our races. Checks of unsafe pointers, which our code does not use, are off.
RACE    := -race -gcflags='all=-d=checkptr=0' -gcflags='modernc.org/...=-race=false -d=checkptr=0' -gcflags='golang.org/x/crypto/...=-race=false -d=checkptr=0'
RAN     := $(GO) run ./test/ran
UNIT    := $(GO) test -json -count=1 -parallel 6 -timeout 45m
# The slowest packages start first, so that nothing waits for them at the end.
LONGEST := ./internal/app ./internal/standup ./internal/gateway/demo
# The packages with tests on a database.
STORED   = $(shell grep -rl --include='*_test.go' 'platform/db/dbtest"' cmd internal test | xargs -n 1 dirname | sort -u | sed 's,^,./,')
# The tests on a real gateway that run for minutes: `make nightly` runs them.
TRIALS  := ^(TestLedger|TestSlots)$$
# Tests of one goroutine that use much CPU, which the race detector multiplies. They run without it here, and with
# it in `make nightly`.
COSTLY  := ^(TestGrowth|TestTree|TestDemoIsLivedIn|TestContract|TestOwnAndForeign)$$
STAGE   := @test/stage.sh

# A failed test must not pass because what shows it did not fail.
SHELL       := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help build fmt lint vet generate needs format-check generated-check web web-needs web-check e2e pictures \
	check unit unit-sqlite unit-costly unit-postgres journey trials claims test code dashboard nightly measure bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# Without symbols and debugging data, which traces of panics do not need.
build: ## the binary, as bin/wardroom
	$(GO) build -trimpath -ldflags='-s -w' -o $(BIN) ./cmd/wardroom

fmt: ## formats the Go code
	$(LINT) fmt

lint: ## golangci-lint, as .golangci.yml says
	$(LINT) run ./...

vet:
	$(GO) vet -tags journey ./...

# What the code says about itself (the OpenAPI document, docs/settings.md, docs/errors.md)
# is written by the same tests that hold it fresh.
generate: ## writes the files that are generated from the code
	$(GO) test ./internal/app -count=1 -run 'Generated' -update

generated-check:
	$(GO) test ./internal/app -count=1 -run 'Generated'

# What the dashboard is built with. The lock files name no registry, so that npm's
# own settings say where packages come from.
web-needs: web/node_modules/.package-lock.json web/openapi/node_modules/.package-lock.json

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web/openapi/node_modules/.package-lock.json: web/openapi/package-lock.json
	npm ci --prefix web/openapi --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web: web-needs ## the dashboard: the types of the API, its format, and what the binary carries (web/dist)
	npm run --silent --prefix web/openapi generate
	npm run --silent --prefix web fix
	npm run --silent --prefix web build

web-check: web-needs ## the dashboard's types, lint and tests, and whether web/dist is what its sources build
	npm run --silent --prefix web/openapi generate -- --check
	npm run --silent --prefix web check
	npm run --silent --prefix web test
	cd web && npx vite build --logLevel=warn --outDir ../bin/web-check --emptyOutDir
	@diff -rq web/dist bin/web-check || { echo "web/dist is not what its sources build: run make web" >&2; exit 1; }

e2e: build web-needs ## the dashboard in a real browser against the built binary (E2E=tasks: those files alone)
	npm run --silent --prefix web e2e -- $(E2E)

pictures: build web-needs ## a picture of every place in both themes, on a desktop and a phone, in bin/pictures
	PICTURES=$(CURDIR)/bin/pictures npm run --silent --prefix web e2e

needs:
	@test/needs.sh
	@$(GO) version
	@echo "node $$(node --version), npm $$(npm --version)"

format-check:
	$(LINT) fmt --diff

check: ## what to run before each commit: format, vet, lint, and the Go tests on SQLite without the race detector
	$(LINT) fmt --diff
	$(GO) vet -tags journey ./...
	$(LINT) run ./...
	TEST_ENGINES=sqlite $(GO) test -parallel 6 $(LONGEST) ./cmd/... ./internal/... ./web ./test/ran

unit: unit-sqlite unit-costly unit-postgres ## all Go tests: on SQLite with the race detector, on a PostgreSQL of their own without

unit-sqlite:
	@mkdir -p bin
	TEST_ENGINES=sqlite $(UNIT) $(RACE) -skip '$(COSTLY)' $(LONGEST) ./... | $(RAN) record bin/unit-sqlite.ran

unit-costly:
	@mkdir -p bin
	TEST_ENGINES=sqlite $(UNIT) -run '$(COSTLY)' ./internal/app | $(RAN) record bin/unit-costly.ran

unit-postgres:
	@mkdir -p bin
	TEST_ENGINES=postgres test/postgres.sh $(UNIT) $(LONGEST) $(STORED) | $(RAN) record bin/unit-postgres.ran

journey: ## the built binary against a real agent gateway (installs it once, about 860 MB)
	@mkdir -p bin
	test/postgres.sh $(GO) test -json -tags journey -count=1 -parallel 4 -timeout 20m -v -skip '$(TRIALS)' ./test/realgateway | $(RAN) record -v bin/journey.ran

trials: ## the long trials on a real gateway: the ledgers of usage and of slots, with everything killed meanwhile
	test/postgres.sh $(GO) test -tags journey -count=1 -timeout 60m -v -run '$(TRIALS)' ./test/realgateway

claims: ## every test that the documents of facts name has run and passed (after unit and journey)
	$(RAN) check docs/specification.md docs/board.md docs/standups.md docs/view.md docs/security.md bin/unit-sqlite.ran bin/unit-costly.ran bin/unit-postgres.ran bin/journey.ran

# LANES=2 runs `code` beside `dashboard`. On two cores the race detector leaves too little for tests with a time limit.
LANES ?= 1
test: ## everything that must pass before a merge
	@rm -rf bin/stages
	$(STAGE) "what the tests need" $(MAKE) --no-print-directory needs
	@$(MAKE) --no-print-directory -j $(LANES) code dashboard
	$(STAGE) "tests that the documents name" $(MAKE) --no-print-directory claims
	@test/stage.sh --times
	@printf '\n== everything passed\n'

code:
	$(STAGE) "format" $(MAKE) --no-print-directory format-check
	$(STAGE) "vet" $(MAKE) --no-print-directory vet
	$(STAGE) "lint" $(MAKE) --no-print-directory lint
	$(STAGE) "generated files" $(MAKE) --no-print-directory generated-check
	$(STAGE) "tests on SQLite, race detector" $(MAKE) --no-print-directory unit-sqlite
	$(STAGE) "costly tests on SQLite" $(MAKE) --no-print-directory unit-costly
	$(STAGE) "tests on PostgreSQL" $(MAKE) --no-print-directory unit-postgres

dashboard:
	$(STAGE) "the dashboard" $(MAKE) --no-print-directory web-check
	$(STAGE) "the dashboard in a browser" $(MAKE) --no-print-directory e2e
	$(STAGE) "journey on a real gateway" $(MAKE) --no-print-directory journey

nightly: ## what takes too long for each change: the race detector on both databases, long proofs, every look in the browser, trials
	@rm -rf bin/stages
	$(STAGE) "what the tests need" $(MAKE) --no-print-directory needs
	$(STAGE) "tests on both databases, race detector" env WARDROOM_NIGHTLY=1 GROWTH_ROWS=100000 test/postgres.sh $(GO) test $(RACE) -count=1 -parallel 6 -timeout 90m $(LONGEST) ./...
	$(STAGE) "the dashboard in a browser, both themes in each size" env WARDROOM_NIGHTLY=1 $(MAKE) --no-print-directory e2e
	$(STAGE) "trials on a real gateway" $(MAKE) --no-print-directory trials
	@test/stage.sh --times

measure: build web-needs ## how fast the dashboard is in a browser, told and not asserted; alone on a quiet machine
	MEASURE=1 npm run --silent --prefix web e2e

bench: build ## measures the service beside a bare server (BENCH=quick: SQLite alone, two minutes)
	@if [ "$(BENCH)" = quick ]; then $(GO) run ./test/bench; else env -u TEST_POSTGRES_URL TMPDIR="$${TMPDIR:-/tmp}" test/postgres.sh $(GO) run ./test/bench; fi

clean: ## removes what was built (not the gateway's cache, not any data)
	rm -rf bin coverage.* *.test
