# `make help` lists the targets. `make test` must pass before a change is merged.

GO      ?= go
BIN     := bin/wardroom
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
# The same flags for the binary and all tests, so that they share the build cache.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# The race detector skips SQLite's code and bcrypt, which run several times faster without it; races in Wardroom's
# code are still found. Checks of unsafe pointers are off, because Wardroom does not use them.
RACE    := -race -gcflags='all=-d=checkptr=0' -gcflags='modernc.org/...=-race=false -d=checkptr=0' -gcflags='golang.org/x/crypto/...=-race=false -d=checkptr=0'
# Most tests wait most of the time. The longest packages come first, so that none runs alone at the end.
LONGEST := ./test/durable ./internal/app ./cmd/wardroom
JOBS    := -p 3 -parallel 8
# The packages with tests on a database.
STORED   = $(LONGEST) $(shell grep -rl --include='*_test.go' 'platform/db/dbtest"' cmd internal test | xargs dirname | sort -u | sed 's,^,./,')

# With pipefail, a failed test fails the target even if its output goes through a pipe.
SHELL       := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help release build fmt lint deadcode generate needs format-check web web-needs web-check e2e smoke pictures \
	vet check race postgres gateway journey journey-short test nightly measure bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The flags leave out symbols and debug data, which stack traces do not need.
build: ## build the binary bin/wardroom
	$(GO) build -trimpath -ldflags='-s -w' -o $(BIN) ./cmd/wardroom

release: ## build the files of a release in bin/release, without publishing anything
	VERSION=$$(sed -n 's/^var Version = "\(.*\)"/\1/p' internal/app/app.go) $(GO) tool -modfile=tools/release/go.mod goreleaser release --snapshot --clean

fmt: ## format the Go code
	$(LINT) fmt

lint: deadcode ## run golangci-lint with all checks of go vet, and find functions that the binary never calls
	$(LINT) run ./...

# The tests of roles and of docs/settings.md call what is left out here from other packages.
deadcode:
	@$(GO) tool -modfile=tools/go.mod deadcode ./cmd/wardroom | { ! grep -v -e '/actor.go:.* Permissions$$' -e '/config/settings.go:'; }

# The tests that check the generated files (the OpenAPI document, docs/settings.md and docs/errors.md) also write
# them.
generate: ## write the files that are generated from the code
	$(GO) test ./internal/app ./test/tree -count=1 -run 'Generated' -update

# The packages that build the dashboard. The lock files name no registry, so npm uses the one in its settings.
web-needs: web/node_modules/.package-lock.json web/openapi/node_modules/.package-lock.json

%/node_modules/.package-lock.json: %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web: web-needs ## build the dashboard: generate the API types, format the sources, write web/dist
	npm run --silent --prefix web/openapi generate
	npm run --silent --prefix web fix
	npm run --silent --prefix web build

web-check: web-needs ## check the dashboard: types, lint, tests, and that web/dist is up to date
	npm run --silent --prefix web/openapi generate -- --check
	npm run --silent --prefix web check
	npm run --silent --prefix web test
	cd web && npx vite build --logLevel=warn --outDir ../bin/web-check --emptyOutDir
	@diff -rq web/dist bin/web-check || { echo "web/dist is out of date: run make web" >&2; exit 1; }

e2e: build web-needs ## test the dashboard in a real browser against the built binary (E2E=tasks: only those files)
	@test/needs.sh node chromium nginx caddy
	npm run --silent --prefix web e2e -- $(E2E)

smoke: build web-needs # each place opens in a browser, and the most important flows work
	SHORT=1 npm run --silent --prefix web e2e

pictures: build web-needs ## take screenshots of every page in both themes, desktop and phone, in bin/pictures
	PICTURES=$(CURDIR)/bin/pictures npm run --silent --prefix web e2e

needs:
	@test/needs.sh
	@$(GO) version
	@echo "node $$(node --version), npm $$(npm --version)"

format-check:
	@unformatted=$$($(GO) tool -modfile=tools/go.mod gofumpt -l cmd internal test web/*.go); \
		if [ -n "$$unformatted" ]; then echo "run make fmt: $$unformatted" >&2; exit 1; fi

vet:
	$(GO) vet -tags journey ./...

check: format-check lint ## run before each commit: format, lint, and Go tests on SQLite
	$(GO) test -short -vet=off -ldflags='-s -w' $(JOBS) $(LONGEST) ./...

race: ## Go tests on SQLite, with the race detector
	test/go.sh -short $(JOBS) $(RACE) -- $(LONGEST) ./...

postgres: ## Go tests of the packages with SQL, on PostgreSQL
	TEST_ENGINES=postgres test/postgres.sh test/go.sh -short $(JOBS) -- $(STORED)

gateway: # installs the real gateway in a cache, unless it is there
	@test/realgateway/install.sh >/dev/null

journey: gateway ## test the built binary with a real agent gateway (installs it once, about 860 MB)
	test/postgres.sh $(GO) test -tags journey -count=1 -timeout 120m -v -parallel 2 ./test/realgateway

journey-short: gateway # a standup and a dispatch
	test/go.sh -short -tags journey -- ./test/realgateway

# One after the other: tests wait for each other's processes, and what compiles beside them makes them slow.
test: ## everything that must pass before a merge: about 8 minutes, and 10 more the first time
	@rm -f bin/flaky.txt
	@for step in needs web-needs format-check vet race postgres web-check smoke journey-short; do \
		$(MAKE) --no-print-directory $$step || exit; \
		echo "== $$step: $$SECONDS s since the start"; \
	done
	@sed 's/^/flaky: /' bin/flaky.txt
	@echo "== everything passed"

# A failed test is not repeated: what fails once in a hundred runs is found here.
nightly: needs web-needs ## everything: race detector on both databases, all browser flows, all of the journey, a benchmark, a release
	@test/needs.sh nginx caddy buildah
	test/postgres.sh $(GO) test $(RACE) -count=1 -shuffle=on -p 2 -parallel 4 -timeout 90m $(LONGEST) ./...
	@$(MAKE) --no-print-directory e2e
	@$(MAKE) --no-print-directory journey
	@$(MAKE) --no-print-directory bench BENCH=quick
	@$(MAKE) --no-print-directory release
	test/install.sh

measure: build web-needs ## measure the dashboard's speed in a browser without asserting limits (needs an idle machine)
	MEASURE=1 npm run --silent --prefix web e2e

bench: build ## benchmark Wardroom against a minimal HTTP server (BENCH=quick: SQLite only, 2 minutes)
	@if [ "$(BENCH)" = quick ]; then $(GO) run ./test/bench; else env -u TEST_POSTGRES_URL TMPDIR="$${TMPDIR:-/tmp}" test/postgres.sh $(GO) run ./test/bench; fi

clean: ## remove build output (keeps the gateway's cache and all data)
	rm -rf bin coverage.* *.test
