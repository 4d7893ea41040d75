BEGIN TRANSACTION;
CREATE TABLE dpmine_datasets (
	dataset VARCHAR(200) NOT NULL,
	unit VARCHAR(200) NOT NULL,
	neighbors VARCHAR(200) NOT NULL,
	parts VARCHAR(200) NOT NULL,
	epsilon TEXT NOT NULL,
	delta TEXT NOT NULL,
	entries INTEGER NOT NULL,
	seal VARCHAR(64) NOT NULL,
	PRIMARY KEY (dataset)
);
INSERT INTO "dpmine_datasets" VALUES('shop','customer','replace_one','by_index','7/2','1/100000',9,'5b982247ace46736ab43610df505d1a5f3cc86ea884200888f3c6557e6f5ca55');
INSERT INTO "dpmine_datasets" VALUES('Kundschaft Zürich','row','add_remove','none','1','0',2,'bec3394a4da9c39a89a4f8b7ce90296f33b989188ec7e13d614412c637ff73c1');
INSERT INTO "dpmine_datasets" VALUES('barn','','replace_one','none','2','0',1,'81a2673f668a3b715b1ec7271d8d02a04b71dea880c2be5fc05be5830ed9b794');
CREATE TABLE dpmine_history (
	dataset VARCHAR(200) NOT NULL,
	number INTEGER NOT NULL,
	kind VARCHAR(200) NOT NULL,
	part VARCHAR(200) NOT NULL,
	epsilon TEXT NOT NULL,
	delta TEXT NOT NULL,
	reservation INTEGER NOT NULL,
	unit VARCHAR(200) NOT NULL,
	neighbors VARCHAR(200) NOT NULL,
	parts VARCHAR(200) NOT NULL,
	job TEXT NOT NULL,
	time VARCHAR(200) NOT NULL,
	seal VARCHAR(64) NOT NULL,
	PRIMARY KEY (dataset, number),
	FOREIGN KEY(dataset) REFERENCES dpmine_datasets (dataset)
);
INSERT INTO "dpmine_history" VALUES('shop',1,'grant','','3','1/100000',0,'','replace_one','by_index','','2026-11-23','ea08a5f5dc6c3685a739594a903e9a3826b75bd0275feed5e7d59a2ba17fc792');
INSERT INTO "dpmine_history" VALUES('shop',2,'charge','','1/3','1/1000000',0,'customer','replace_one','by_index','top-itemset --size 2','2026-11-23','124ed7e30b47e6addaa33876d5d81e9e911d94e10c6cd591f2e607405fd31291');
INSERT INTO "dpmine_history" VALUES('shop',3,'reserve','north','5/7','1/1000000000',0,'customer','replace_one','by_index','accuracy-first ridge','2026-11-23','1ab5443d5a0721e6e1923d19d9511aed4b65a238469bc6f470be0e055873d4f5');
INSERT INTO "dpmine_history" VALUES('shop',4,'charge','south','22/71','0',0,'customer','replace_one','by_index','histogram','2026-11-23','72ae9de9c1ed5004a2a17312cb3a4530474717e3e4e03b7c8be654050ddb4d1f');
INSERT INTO "dpmine_history" VALUES('shop',5,'settle','north','13/57','1/1000000000',3,'customer','replace_one','by_index','','2026-11-23','4679f148e64d331f9ee71603cb7ad0d8d5a17ac921efa72edcfe73b3aa451657');
INSERT INTO "dpmine_history" VALUES('shop',6,'reserve','','1/2','0',0,'customer','replace_one','by_index','accuracy-first ridge','2026-11-23','29ed5359761fa5e57b2cdcc9586194b39437a3a7d5afc2c8f7023719ea0cc132');
INSERT INTO "dpmine_history" VALUES('shop',7,'charge','south','1/1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000','1/300000000000000000000000000000000000000000000000000000000000000000000000000000000',0,'customer','replace_one','by_index','a small one','2026-11-23','b0e0f2da43c8a6040c089015cff90f0862d515dba0882c6ea5ab7601eaedef61');
INSERT INTO "dpmine_history" VALUES('shop',8,'grant','','7/2','1/100000',0,'customer','replace_one','by_index','','2026-11-23','be47250f0dbae8f81bcbc80a8cfc0788d75a4c45e9c35b9be96ef3c21eff768d');
INSERT INTO "dpmine_history" VALUES('shop',9,'charge','','1/10','0',0,'customer','replace_one','by_index','top-itemset --size 3','2026-11-23','5b982247ace46736ab43610df505d1a5f3cc86ea884200888f3c6557e6f5ca55');
INSERT INTO "dpmine_history" VALUES('Kundschaft Zürich',1,'grant','','1','0',0,'row','add_remove','none','','2026-11-23','9b1dbaec4cf6b5aabdeef7f62f6cea8a75e6294c10a87a8140b027c4c009cdf7');
INSERT INTO "dpmine_history" VALUES('Kundschaft Zürich',2,'charge','','1/7','0',0,'row','add_remove','none','hypothesis','2026-11-23','bec3394a4da9c39a89a4f8b7ce90296f33b989188ec7e13d614412c637ff73c1');
INSERT INTO "dpmine_history" VALUES('barn',1,'grant','','2','0',0,'','replace_one','none','','2026-11-23','81a2673f668a3b715b1ec7271d8d02a04b71dea880c2be5fc05be5830ed9b794');
CREATE TABLE dpmine_spent (
	dataset VARCHAR(200) NOT NULL,
	part VARCHAR(200) NOT NULL,
	epsilon TEXT NOT NULL,
	delta TEXT NOT NULL,
	PRIMARY KEY (dataset, part),
	FOREIGN KEY(dataset) REFERENCES dpmine_datasets (dataset)
);
INSERT INTO "dpmine_spent" VALUES('shop','','14/15','1/1000000');
INSERT INTO "dpmine_spent" VALUES('shop','north','13/57','1/1000000000');
INSERT INTO "dpmine_spent" VALUES('shop','south','22000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000071/71000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000','1/300000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "dpmine_spent" VALUES('Kundschaft Zürich','','1/7','0');
CREATE TABLE dpmine_version (
	version INTEGER NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "dpmine_version" VALUES(1);
CREATE UNIQUE INDEX dpmine_settled ON dpmine_history (dataset, reservation) WHERE reservation > 0;
COMMIT;
