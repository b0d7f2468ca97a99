// The library under the client for Visual Studio Code talks to `tc-opt lsp`: the messages of both fit together.

"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const protocol = require("vscode-languageserver-protocol/node");

const URI = "file:///demo.tir";
const TEXT = `te.func @blur(A: f32[1024]) -> f32[1022] {
  compute B[i: 1022] = sum[r: 3](A[i + r])
  return B
}
schedule @threads for @blur {
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
`;

async function main() {
  const server = spawn(process.argv[2], ["lsp", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const connection = protocol.createProtocolConnection(
    new protocol.StreamMessageReader(server.stdout),
    new protocol.StreamMessageWriter(server.stdin),
  );
  const published = new Promise((resolve) =>
    connection.onNotification(protocol.PublishDiagnosticsNotification.type, resolve),
  );
  connection.listen();
  const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
    initializationOptions: { target: "sm_90", virtualDocuments: true },
  });
  await connection.sendNotification(protocol.InitializedNotification.type, {});
  await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
    textDocument: { uri: URI, languageId: "tir", version: 1, text: TEXT },
  });
  assert.deepStrictEqual((await published).diagnostics, []);
  const textDocument = { uri: URI };
  const hover = await connection.sendRequest(protocol.HoverRequest.type, {
    textDocument,
    position: { line: 5, character: 2 },
  });
  assert.match(hover.contents.value, /the outer part of `i` \(1022\)/);
  const lenses = await connection.sendRequest(protocol.CodeLensRequest.type, { textDocument });
  const show = lenses.find((lens) => lens.command.title === "show the program").command;
  assert.ok(capabilities.executeCommandProvider.commands.includes(show.command));
  const shown = await connection.sendRequest(protocol.ExecuteCommandRequest.type, {
    command: show.command,
    arguments: show.arguments,
  });
  assert.match(shown.text, /for bx in 0\.\.8 bind\(blockIdx\.x\)/);
  await connection.sendRequest(protocol.ShutdownRequest.type);
  await connection.sendNotification(protocol.ExitNotification.type);
  assert.strictEqual(await ended, 0);
  connection.dispose();
  console.log("the client and the server understand each other");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
