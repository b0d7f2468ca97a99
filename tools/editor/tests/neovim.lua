-- Neovim asks `tc-opt lsp` for all that docs/editors.md names, by the functions that a user calls. tools/editor/try runs it
-- in a copy of examples/conv1d.tir, with the page's snippet as the only configuration; what it saw goes into $TRY_LOG.

local log = assert(io.open(assert(vim.env.TRY_LOG), "w"))
local SPLIT = "bx, tx = split(B.i, factor = 8)"

--- Writes down what was seen; an error where it has none of `wanted`.
local function saw(what, text, wanted)
  text = vim.trim(text:gsub("%s+", " "))
  log:write(("  %-12s %s\n"):format(what, text))
  assert(text:find(wanted, 1, true), ("%s: `%s` is not in `%s`"):format(what, wanted, text))
end

--- What `find` gives, as soon as it gives something.
local function await(what, find)
  local found
  vim.wait(10000, function()
    found = find()
    return found
  end, 20)
  return assert(found, what .. ": no answer")
end

local function get(number)
  return vim.api.nvim_buf_get_lines(0, number - 1, number, true)[1]
end

--- Puts the cursor onto `word` in the first line that has `text`, and gives the line's number.
local function go(text, word)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
    if line:find(text, 1, true) then
      vim.api.nvim_win_set_cursor(0, { number, line:find(word or text, 1, true) - 1 })
      return number
    end
  end
  error("no line has `" .. text .. "`")
end

local function replace(old, new)
  local number = go(old)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  vim.api.nvim_buf_set_text(0, number - 1, column, number - 1, column + #old, { new })
  return number
end

local function type_keys(keys, mode)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), mode, false)
end

--- The floating window, where there is one.
local function float()
  return vim.iter(vim.api.nvim_list_wins()):find(function(window)
    return vim.api.nvim_win_get_config(window).relative ~= ""
  end)
end

local function attaches()
  local client = await("attach", function()
    local client = vim.lsp.get_clients({ bufnr = 0 })[1]
    return client and client.initialized and client
  end)
  local folder = vim.fs.basename(client.root_dir)
  saw("attach", ("%s %s, folder %s"):format(client.server_info.name, client.server_info.version, folder), "project")
end

local function finds_and_fixes_an_error()
  local number = replace("split(B.i, factor = 8)", "splot(B.i, factor = 8)")
  local found = await("diagnostics", function()
    return vim.diagnostic.get(0)[1]
  end)
  saw("diagnostic", ("line %d: %s"):format(found.lnum + 1, found.message), "line 26: unknown op `splot`")
  vim.lsp.buf.code_action({ apply = true })
  await("quick fix", function()
    return get(number):find("split", 1, true)
  end)
  saw("quick fix", get(number), SPLIT)
  await("no diagnostics", function()
    return #vim.diagnostic.get(0) == 0
  end)
end

local function hovers()
  go("bind(tx, threadIdx.x)", "tx")
  vim.lsp.buf.hover()
  local window = await("hover", float)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true)
  vim.api.nvim_win_close(window, true)
  saw("hover", lines[#lines], "loop `tx`: 8, the inner part of `i` (16415)")
end

local function goes_to_the_definition()
  local from = go(SPLIT, "i, factor")
  vim.lsp.buf.definition()
  await("definition", function()
    return vim.fn.line(".") ~= from
  end)
  saw("definition", get(vim.fn.line(".")), "compute B[i: 16415]")
end

local function lists(what, ask, wanted)
  local found
  ask(function(list)
    found = list.items
  end)
  await(what, function()
    return found
  end)
  local lines = vim.tbl_map(function(item)
    return item.lnum
  end, found)
  saw(what, "lines " .. table.concat(lines, " "), wanted)
end

local function finds_references()
  go("compute B[i: 16415]", "i: ")
  lists("references", function(on_list)
    vim.lsp.buf.references(nil, { on_list = on_list })
  end, "16 17 17 17 22 26")
end

local function outlines()
  lists("outline", function(on_list)
    vim.lsp.buf.document_symbol({ on_list = on_list })
  end, "4 4 4 5 10 15")
end

local function renames()
  local number = go(SPLIT, "tx")
  vim.lsp.buf.rename("lane")
  await("rename", function()
    return get(number):find("lane", 1, true)
  end)
  saw("rename", get(number) .. " … " .. get(number + 2), "bx, lane = split(B.i, factor = 8) … bind(lane,")
  vim.cmd("silent undo")
end

local function completes()
  local number = go(SPLIT)
  local words
  vim.api.nvim_create_autocmd("CompleteChanged", {
    once = true,
    callback = function()
      words = vim.tbl_map(function(item)
        return item.word
      end, vim.fn.complete_info({ "items" }).items)
      vim.api.nvim_input("<C-e><Esc>")
    end,
  })
  vim.defer_fn(function()
    vim.api.nvim_input("<Esc>")
  end, 10000)
  type_keys("Oca<C-x><C-o>", "nx!")
  vim.api.nvim_buf_set_lines(0, number - 1, number, true, {})
  saw("completion", "ca: " .. table.concat(words or {}, " "), "cache_read cache_write")
end

local function formats()
  local number = replace("  " .. SPLIT, "      bx,tx=split(B.i,factor=8)")
  vim.lsp.buf.format()
  saw("format", get(number), SPLIT)
end

local function colours()
  local number = go(SPLIT, "split")
  await("colours", function()
    local tokens = vim.lsp.semantic_tokens.get_at_pos(0, number - 1, vim.fn.col(".") - 1) or {}
    -- Those of the text before the last change may still be there.
    return tokens[1] and tokens[1].type == "macro"
  end)
  saw("colours", "split: macro", "macro")
end

local function hints()
  local found = await("hints", function()
    local found = vim.lsp.inlay_hint.get({ bufnr = 0 })
    return found[1] and found
  end)
  saw("hints", ("%d, the first `%s`"):format(#found, found[1].inlay_hint.label), "65660 bytes")
end

local function folds()
  vim.wo.foldmethod = "expr"
  vim.wo.foldexpr = "v:lua.vim.lsp.foldexpr()"
  vim.wo.foldlevel = 0
  local first = go("schedule @v2")
  local last = await("folds", function()
    local last = vim.fn.foldclosedend(first)
    return last > 0 and last
  end)
  vim.wo.foldlevel = 9
  saw("folding", ("lines %d to %d"):format(first, last), "25 to 28")
end

local function comments()
  local number = go(SPLIT)
  type_keys("gcc", "mx")
  saw("comment", get(number), "// " .. SPLIT)
  type_keys("gcc", "mx")
end

--- Lenses, and what the one that shows a program opens.
local function runs_a_lens()
  go("schedule @v2")
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true)
  else
    vim.lsp.codelens.refresh()
  end
  await("lenses", function()
    return vim.lsp.codelens.get(0)[1]
  end)
  vim.ui.select = function(items, options, choose)
    for index, item in ipairs(items) do
      if options.format_item(item):find("show the program", 1, true) then
        return choose(item, index)
      end
    end
  end
  vim.lsp.codelens.run()
  await("lens", function()
    return vim.api.nvim_buf_get_name(0):find("v2.tir", 1, true)
  end)
  saw("lens", get(5), "for tx in 0..8 bind(threadIdx.x) {")
end

local function all()
  attaches()
  finds_and_fixes_an_error()
  hovers()
  goes_to_the_definition()
  finds_references()
  outlines()
  renames()
  completes()
  formats()
  colours()
  hints()
  folds()
  comments()
  runs_a_lens()
end

local ok, message = xpcall(all, debug.traceback)
if not ok then
  log:write(message, "\n")
end
log:close()
vim.cmd(ok and "qall!" or "cquit 1")
