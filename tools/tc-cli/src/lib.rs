//! What the command-line tools share: streams, files written whole, exit statuses, completion and manual pages.
