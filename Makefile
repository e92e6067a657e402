# `make help` lists the targets. `make test` must pass before a change is merged.

GO      ?= go
BIN     := bin/wardroom
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
# The same flags for the binary and all tests, so that they share the build cache.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# The race detector skips SQLite's code and bcrypt, which run several times faster without it; races in Wardroom's
# code are still found. Checks of unsafe pointers are off, because Wardroom does not use them.
RACE    := -race -gcflags='all=-d=checkptr=0' -gcflags='modernc.org/...=-race=false -d=checkptr=0' -gcflags='golang.org/x/crypto/...=-race=false -d=checkptr=0'
# The packages with tests on a database.
STORED   = $(shell grep -rl --include='*_test.go' 'platform/db/dbtest"' cmd internal test | xargs dirname | sort -u | sed 's,^,./,')
# Tests that use much CPU, which the race detector multiplies, and the packages they are in. They run without it, and few
# at a time; `make nightly` runs them with it.
COSTLY  := $(subst $() ,|,$(strip Growth Tree Contract OwnAndForeign Faults FaultsThatFillMemory RetiredPhrases \
	DemoIsLivedIn DemoGoesOnFilling DemoGoesOnWorking DemoStandup DemoWorksOnTask DemoGoesOnAfterDecision \
	DemoClaimsAndUnknownTasks DemoNeedsYou DemoAsks RetentionSurvivesItsProcess DashboardsCostTheGatewayNothing UsageEqualsTheRuntimes \
	InvisibleCharacters RoutesAskForTheirPermission AbsenceInZonesOfTeams AbsenceSummerTime NoAbsence \
	AnswerOfTwoMegabytes RunawayReport SessionsThroughDisorder ClientHuge ClientHugeEvent Bloat BackupBesideService KilledUnderLoad \
	AgentsDocument RollupEqualsTheLedger))
COSTLY  := ^Test($(COSTLY))$$
COSTING := ./internal/app ./internal/standup ./test/faults ./internal/usage ./cmd/wardroom
# Tests that `make test` runs on SQLite alone, because most of their time goes into what is the same on both databases.
# `make nightly` runs them on PostgreSQL. Of the points at which TestKill kills the service, four stay.
ON_SQLITE := ^Test(Demo([A-Z].*)?|Tree|RetiredPhrases|AgentsDocument|Growth|UsageEqualsTheRuntimes|InvisibleCharacters|Pairing|Keys)$$|\
	^Test(MissedJobReachesTheInbox|DispatchWaits|DispatchMoot|DispatchEnds|DispatchEndedLongAgo|StandupRetry|RetryAtOnce)$$|\
	^Test(KillDispatch|KillHold|KilledUnderLoad|AbsenceInZonesOfTeams|BlockerOfSilent)$$|\
	^TestKill$$/postgres/^(a|an|the|in|during|after|while|before)_
# The tests on a real gateway that `make nightly` runs: they take minutes, or repeat what others show.
TRIALS  := ^(TestLedger|TestSlots|TestAccess|TestPairing|TestTwentyRuns)$$
REPEATS := TestJourney/PostgreSQL|TestDispatch/costs_what_those_cost|TestDispatch/is_seen_with|TestJourney/SQLite/goes_on_without_an_agent|TestDispatch/costs_what_it_cost|TestDispatch/is_found_answered|TestJourney/SQLite/shows_what_four_agents

# With pipefail, a failed test fails the target even if its output goes through a pipe.
SHELL       := bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help build fmt lint deadcode generate needs format-check web web-needs web-check e2e pictures \
	check unit unit-race unit-costly unit-postgres unit-durable journey trials test nightly measure bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The flags leave out symbols and debug data, which stack traces do not need.
build: ## build the binary bin/wardroom
	$(GO) build -trimpath -ldflags='-s -w' -o $(BIN) ./cmd/wardroom

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
	$(GO) test ./internal/app -count=1 -run 'Generated' -update

# The packages that build the dashboard. The lock files name no registry, so npm uses the one in its settings.
web-needs: web/node_modules/.package-lock.json web/openapi/node_modules/.package-lock.json

web/node_modules/.package-lock.json: web/package-lock.json
	npm ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web/openapi/node_modules/.package-lock.json: web/openapi/package-lock.json
	npm ci --prefix web/openapi --ignore-scripts --no-audit --no-fund --loglevel=error
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
	npm run --silent --prefix web e2e -- $(E2E)

pictures: build web-needs ## take screenshots of every page in both themes, desktop and phone, in bin/pictures
	PICTURES=$(CURDIR)/bin/pictures npm run --silent --prefix web e2e

needs:
	@test/needs.sh
	@$(GO) version
	@echo "node $$(node --version), npm $$(npm --version)"

format-check:
	@unformatted=$$($(GO) tool -modfile=tools/go.mod gofumpt -l cmd internal test web/*.go); \
		if [ -n "$$unformatted" ]; then echo "run make fmt: $$unformatted" >&2; exit 1; fi

check: format-check lint ## run before each commit: format, lint, Go tests on SQLite without the race detector and the costly ones
	TEST_ENGINES=sqlite $(GO) test -vet=off -parallel 16 -skip '$(COSTLY)' ./internal/app ./cmd/... ./internal/... ./web ./test/faults

unit: unit-race unit-costly unit-postgres unit-durable ## all Go tests

unit-race: # all packages on SQLite
	TEST_ENGINES=sqlite test/go.sh $(RACE) -skip '$(COSTLY)' -- $$($(GO) list ./... | grep -v test/durable)

unit-costly: # on SQLite, without the race detector
	TEST_ENGINES=sqlite test/go.sh -run '$(COSTLY)' -- $(COSTING)

unit-postgres:
	TEST_ENGINES=postgres test/postgres.sh test/go.sh -skip '$(subst $() ,,$(ON_SQLITE))' -- $(filter-out ./test/durable,$(STORED))

# A failed test of a killed process is never repeated: such a fault may show once in a hundred runs.
unit-durable: # kills the service, on both databases
	TEST_ENGINES=sqlite $(GO) test -count=1 -vet=off -ldflags=-w -parallel 4 -timeout 20m ./test/durable
	TEST_ENGINES=postgres test/postgres.sh $(GO) test -count=1 -vet=off -ldflags=-w -parallel 4 -timeout 20m -skip '$(subst $() ,,$(ON_SQLITE))' ./test/durable

journey: ## test the built binary with a real agent gateway (installs it once, about 860 MB)
	test/postgres.sh test/go.sh -tags journey -parallel 2 -v -skip '$(TRIALS)|$(REPEATS)' -- ./test/realgateway

trials: ## the long trials on a real gateway, with everything killed meanwhile, and all that `make journey` leaves out
	test/postgres.sh $(GO) test -tags journey -count=1 -timeout 60m -v -parallel 4 ./test/realgateway

# One after the other: tests wait for each other's processes, and what compiles beside them makes them slow.
test: ## everything that must pass before a merge
	@rm -f bin/flaky.txt
	@$(MAKE) --no-print-directory needs web-needs
	@$(MAKE) --no-print-directory format-check
	$(GO) vet -tags journey ./...
	@$(MAKE) --no-print-directory unit-race
	@$(MAKE) --no-print-directory unit-costly
	@$(MAKE) --no-print-directory unit-postgres
	@$(MAKE) --no-print-directory unit-durable
	@$(MAKE) --no-print-directory web-check
	@$(MAKE) --no-print-directory e2e
	@$(MAKE) --no-print-directory journey
	@sed 's/^/flaky: /' bin/flaky.txt
	@echo "== everything passed"

nightly: ## run what takes too long for each change: race detector on both databases, long tests, all browser layouts, trials
	@$(MAKE) --no-print-directory needs web-needs
	WARDROOM_NIGHTLY=1 GROWTH_ROWS=100000 ANSWER_ROUNDS=200 test/postgres.sh $(GO) test $(RACE) -count=1 -parallel 6 -timeout 90m ./...
	WARDROOM_NIGHTLY=1 $(MAKE) --no-print-directory e2e
	@$(MAKE) --no-print-directory trials

measure: build web-needs ## measure the dashboard's speed in a browser without asserting limits (needs an idle machine)
	MEASURE=1 npm run --silent --prefix web e2e

bench: build ## benchmark Wardroom against a minimal HTTP server (BENCH=quick: SQLite only, 2 minutes)
	@if [ "$(BENCH)" = quick ]; then $(GO) run ./test/bench; else env -u TEST_POSTGRES_URL TMPDIR="$${TMPDIR:-/tmp}" test/postgres.sh $(GO) run ./test/bench; fi

clean: ## remove build output (keeps the gateway's cache and all data)
	rm -rf bin coverage.* *.test
