#!/usr/bin/env node
/** Stands in for the Mattermost gateway: says that there is none yet, and ends. */
process.stderr.write("gatewayd: isn't built yet, chat in a terminal with bxctl instead; see docs/runbook.md#gateway-not-built\n");
process.exitCode = 1;
