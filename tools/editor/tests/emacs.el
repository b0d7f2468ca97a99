;;; Emacs asks `tc-opt lsp` for all that docs/editors.md names, by the commands of eglot.  -*- lexical-binding: t -*-

;; tools/editor/try runs it in a copy of examples/conv1d.tir, with the page's snippet as the only configuration; what it saw
;; goes into $TRY_LOG.  Emacs is not in batch mode: there idle timers do not run, and eglot waits for them.

(require 'eglot)
(require 'flymake)
(require 'imenu)
(require 'xref)

(defconst tir-try-split "bx, tx = split(B.i, factor = 8)")

(defun tir-try-log (line)
  (write-region (concat line "\n") nil (getenv "TRY_LOG") t 'silent))

(defun tir-try-saw (what text wanted)
  "Write down TEXT; an error where it has no WANTED."
  (let ((text (string-trim (replace-regexp-in-string "[ \n]+" " " (format "%s" text)))))
    (tir-try-log (format "  %-12s %s" what text))
    (unless (string-search wanted text)
      (error "%s: `%s' is not in `%s'" what wanted text))))

(defun tir-try-await (what find)
  "What FIND gives, as soon as it gives something."
  ;; As after a key: timers of a pause run once in each.
  (internal-timer-start-idle)
  (let ((end (time-add nil 10)) found)
    (while (not (or (setq found (funcall find)) (time-less-p end nil)))
      (sit-for 0.05))
    (or found (error "%s: no answer" what))))

(defun tir-try-go (text &optional word)
  "Put the cursor onto WORD in the first line that has TEXT."
  (deactivate-mark)
  (goto-char (point-min))
  (dolist (part (list text (or word text)))
    (search-forward part)
    (goto-char (match-beginning 0))))

(defun tir-try-line ()
  (buffer-substring-no-properties (pos-bol) (pos-eol)))

(defun tir-try-attach ()
  (let ((server (tir-try-await "attach" #'eglot-current-server)))
    (tir-try-saw "attach"
                 (format "%s, folder %s" (plist-get (eglot--server-info server) :name) (eglot-project-nickname server))
                 "tc-opt, folder project")))

(defun tir-try-error ()
  (tir-try-go tir-try-split "split")
  (replace-match "splot")
  (let* ((found (car (tir-try-await "diagnostic" #'flymake-diagnostics)))
         (start (flymake-diagnostic-beg found)))
    (tir-try-saw "diagnostic" (format "line %d: %s" (line-number-at-pos start) (flymake-diagnostic-text found))
             "line 26: tc [unknown-op]: unknown op `splot`")
    (goto-char start)
    (call-interactively #'eglot-code-action-quickfix)
    (tir-try-saw "quick fix" (tir-try-line) tir-try-split)
    (tir-try-await "no diagnostics" (lambda () (null (flymake-diagnostics))))))

(defun tir-try-hover ()
  (tir-try-go "bind(tx, threadIdx.x)" "tx")
  (eldoc t)
  (let ((text (tir-try-await "hover" (lambda ()
                (with-current-buffer (eldoc-doc-buffer)
                  (and (save-excursion (goto-char (point-min)) (search-forward "loop" nil t))
                       (buffer-substring-no-properties (match-beginning 0) (point-max))))))))
    (tir-try-saw "hover" text "8, the inner part of `i` (16415)")))

(defun tir-try-definition ()
  (tir-try-go tir-try-split "i, factor")
  (xref-find-definitions (xref-backend-identifier-at-point 'eglot))
  (tir-try-saw "definition" (tir-try-line) "compute B[i: 16415]"))

(defun tir-try-references ()
  (tir-try-go "compute B[i: 16415]" "i: ")
  (save-window-excursion
    (xref-find-references (xref-backend-identifier-at-point 'eglot))
    (with-current-buffer "*xref*"
      (tir-try-saw "references" (format "%d lines" (count-matches "^ *[0-9]+:" (point-min) (point-max))) "8 lines"))))

(defun tir-try-outline ()
  (let ((names (mapcar #'car (imenu--make-index-alist t))))
    (tir-try-saw "outline" (string-join names " ") "conv1d_naive naive conv1d v1 v2")))

(defun tir-try-rename ()
  (tir-try-go tir-try-split "tx")
  (eglot-rename "lane")
  (tir-try-saw "rename" (concat (tir-try-line) " … " (progn (forward-line 2) (tir-try-line)))
           "bx, lane = split(B.i, factor = 8) … bind(lane,")
  (forward-line -2)
  (search-forward "lane")
  (eglot-rename "tx"))

(defun tir-try-completion ()
  (tir-try-go tir-try-split)
  (insert "cache_rea")
  (save-excursion (insert "\n"))
  (completion-at-point)
  (tir-try-saw "completion" (concat "cache_rea: " (tir-try-line)) "cache_rea: cache_read")
  (delete-line))

(defun tir-try-format ()
  (tir-try-go tir-try-split)
  (replace-match "    bx,tx=split(B.i,factor=8)")
  (eglot-format-buffer)
  (tir-try-saw "format" (tir-try-line) tir-try-split))

(defun tir-try-hint (at)
  "The text of a hint, where the overlay AT is one."
  (and (overlay-get at 'eglot--inlay-hint)
       (string-trim (or (overlay-get at 'before-string) (overlay-get at 'after-string)))))

(defun tir-try-hints ()
  (tir-try-go tir-try-split)
  (let ((found (tir-try-await "hints" (lambda () (delq nil (mapcar #'tir-try-hint (overlays-in (pos-bol) (pos-eol))))))))
    (tir-try-saw "hints" (string-join (sort found #'string>) ", ") "8, 2052")))

(defun tir-try-comment ()
  (tir-try-go tir-try-split)
  (comment-line 1)
  (forward-line -1)
  (font-lock-ensure)
  (tir-try-saw "comment" (format "%s, %s" (tir-try-line) (get-text-property (1- (pos-eol)) 'face))
               (concat "// " tir-try-split ", font-lock-comment-face"))
  (comment-line 1))

(defun tir-try-action ()
  "What other editors have as a lens."
  (tir-try-go "schedule @v2" "@v2")
  (let ((wanted (lambda (action) (equal (plist-get action :title) "show the program"))))
    (eglot-execute (eglot-current-server) (seq-find wanted (eglot-code-actions (point) nil))))
  (tir-try-await "action" (lambda () (string-search "v2.tir" (buffer-name (window-buffer)))))
  (with-current-buffer (window-buffer)
    (goto-char (point-min))
    (forward-line 4)
    (tir-try-saw "action" (tir-try-line) "for tx in 0..8 bind(threadIdx.x) {")))

(defun tir-try-all ()
  (let ((status 0))
    (condition-case problem
        (mapc #'funcall
              '(tir-try-attach tir-try-error tir-try-hover tir-try-definition tir-try-references tir-try-outline
                tir-try-rename tir-try-completion tir-try-format tir-try-hints tir-try-comment tir-try-action))
      (error (setq status 1) (tir-try-log (error-message-string problem))))
    (kill-emacs status)))

;; When the first command is waited for, eglot has been told of the buffer.
(run-with-idle-timer 0.2 nil #'tir-try-all)
