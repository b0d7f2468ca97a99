// The client for Visual Studio Code: it starts `tc-opt lsp`, and shows texts that commands give back.

"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** The scheme of texts that commands give back. */
const SCHEME = "tc";

/** Texts by their addresses, the newest last. */
const texts = new Map();
const MAX_TEXTS = 50;

/** @type {LanguageClient | undefined} */
let client;

/** Shows such texts in editors that cannot be changed. */
class Texts {
  constructor() {
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
  }

  /** @param {vscode.Uri} uri */
  provideTextDocumentContent(uri) {
    return texts.get(uri.toString()) ?? "";
  }

  /**
   * @param {string} title
   * @param {string} text
   */
  async show(title, text) {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
    const key = uri.toString();
    texts.delete(key);
    texts.set(key, text);
    if (texts.size > MAX_TEXTS) {
      texts.delete(texts.keys().next().value);
    }
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }
}

/** What the server is told of the settings. */
function settings() {
  const all = vscode.workspace.getConfiguration("tc");
  return { target: all.get("target"), hints: all.get("hints"), virtualDocuments: true };
}

/** @param {Texts} shown */
async function start(shown) {
  const command = vscode.workspace.getConfiguration("tc").get("path", "tc-opt");
  client = new LanguageClient(
    "tc",
    "tir",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "tir" }],
      initializationOptions: settings(),
      middleware: {
        executeCommand: async (name, args, next) => {
          const answer = await next(name, args);
          if (answer && typeof answer.text === "string") {
            await shown.show(String(answer.title), answer.text);
          }
          return answer;
        },
      },
    },
  );
  try {
    await client.start();
  } catch {
    // The client has shown the reason.
    vscode.window.showErrorMessage(`\`${command} lsp\` does not start. Is the setting tc.path right?`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop().catch(() => {});
}

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
  const shown = new Texts();
  // One after another: two changes at once must not leave two servers.
  let turn = start(shown);
  const restart = () => {
    turn = turn.then(stop).then(() => start(shown));
    return turn;
  };
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, shown),
    vscode.commands.registerCommand("tc.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("tc.path")) {
        await restart();
      } else if (event.affectsConfiguration("tc") && client?.isRunning()) {
        await client.sendNotification("workspace/didChangeConfiguration", { settings: { tc: settings() } });
      }
    }),
  );
  await turn;
}

module.exports = { activate, deactivate: stop };
