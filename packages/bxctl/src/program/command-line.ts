/** What every command is declared with: its words, the flags that say where the box is, and how its end is told. */
import { Command, Option } from "commander";
import { findPlaces, type PlaceFlags, type Places } from "../box/places.ts";
import type { ExitStatus, ProcessIo } from "../process-io.ts";
import type { Screen } from "../terminal/screen.ts";

/** Standard output and standard error. */
export interface Screens {
  readonly out: Screen;
  readonly err: Screen;
}

/** Flags that every command takes, before or after its own words. */
function withPlaces(command: Command): Command {
  return command
    .addOption(new Option("--home <dir>", "where the box keeps everything (default: $BOXMAKER_HOME, else /var/lib/boxmaker)"))
    .addOption(new Option("--socket <path>", "loopd's socket (default: run/loop/loop.sock in the home)"))
    .addOption(new Option("--admin-socket <path>", "brokerd's socket (default: run/admin/admin.sock in the home)"));
}

export class CommandLine {
  readonly root: Command;
  readonly io: ProcessIo;
  /** Takes how a command ended. */
  readonly finish: (status: ExitStatus) => void;

  constructor(io: ProcessIo, version: string, finish: (status: ExitStatus) => void) {
    this.io = io;
    this.finish = finish;
    this.root = withPlaces(new Command("bxctl"))
      .description("Talk with the box, answer what it asks, look at what it did.")
      .version(version)
      .enablePositionalOptions()
      .exitOverride()
      .addHelpText("after", '\nExample:\n  bxctl chat --say "what is in my notes?"');
  }

  /** A command with its help. */
  add(parent: Command, usage: string, description: string, example: string): Command {
    return withPlaces(parent.command(usage).description(description)).addHelpText("after", `\nExample:\n  ${example}`);
  }

  /** A word that commands begin with. */
  group(name: string, description: string): Command {
    return this.root.command(name).description(description).enablePositionalOptions();
  }

  /** Where the box is, by the flags that stand before the command or after it. */
  placesOf(command: Command): Places {
    return findPlaces({ ...this.root.opts<PlaceFlags>(), ...command.opts<PlaceFlags>() }, this.io.env);
  }

  async screens(): Promise<Screens> {
    const { Screen } = await import("../terminal/screen.ts");
    return { out: new Screen(this.io.stdout, this.io.env), err: new Screen(this.io.stderr, this.io.env) };
  }
}
