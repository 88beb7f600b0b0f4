exports.format = (id, lang = 'en') => ({ row: Number(id), lang });
